// SPDX-License-Identifier: MIT OR Apache-2.0
// Verbose logging whose levels can change while the program runs, by file or by module. A statement that is off is one nop, and its arguments are not
// evaluated.
//
//     #include <jumplabel/vlog.hpp>
//
//     VLOG_FILE();                                     once in a file: its levels, all off, named vlog:FILE
//
//     void accept(int port)
//     {
//         VLOG(1) << "port " << port;
//         if (VLOG_IS_ON(2))
//             dump(port);
//
//     jumplabel::vlog::set("net/*=2,main=1");          at any time, on any thread
//
// A file has one key for each level, vlog:FILE[0] to vlog:FILE[4]. Level 2 is on if the keys 0 to 2 are on. So JUMPLABEL='vlog:*=on' and an agent can
// set levels, too. The keys of a file share one record. A statement costs a nop, 16 bytes of table, and its arm.
//
// There are two differences from glog, whose statements find their level when they first run. Here all levels start off, even VLOG(0) (glog starts
// with the state after set("*=0")), and a level is a constant. Several files can share one name:
//
//     DEFINE_VLOG_MODULE(net_log, "net");              in one file, outside of any namespace
//     DECLARE_VLOG_MODULE(net_log);                    in others, and in headers
//     VLOG_IN(net_log, 1) << "in an inline function";
//
//   JUMPLABEL_VLOG_LEVELS       the number of levels of a file; 5 if it is not defined
//   JUMPLABEL_VLOG_NO_SHORT_NAMES   do not define glog's names VLOG and VLOG_IS_ON, only JUMPLABEL_VLOG and JUMPLABEL_VLOG_IS_ON
#ifndef JUMPLABEL_VLOG_HPP
#define JUMPLABEL_VLOG_HPP

// Declarations of the standard library are visible symbols, whatever visibility the including file has set.
#pragma GCC visibility push(default)
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
#pragma GCC visibility pop

#include "../jumplabel.h"

#ifndef JUMPLABEL_VLOG_LEVELS
#define JUMPLABEL_VLOG_LEVELS 5
#endif

namespace jumplabel {
namespace vlog {

// A message of a statement. `text` lives as long as the call of the sink.
struct message {
	const char *file;
	unsigned int line;
	int level;
	std::string_view text;
};

// Gets the messages. No exception may leave it.
typedef void (*sink)(const message &_message);

// The default sink: writes one line on standard error, `V1 net.cc:17] text`.
__inline__ void to_stdio(const message &_message)
{
	std::string_view _file = _message.file;
	std::string _line;

	_file.remove_prefix(_file.find_last_of('/') + 1);
	_line.append("V").append(std::to_string(_message.level)).append(" ").append(_file).append(":");
	_line.append(std::to_string(_message.line)).append("] ").append(_message.text).append("\n");
	std::fwrite(_line.data(), 1, _line.size(), stderr);
}

// Internal: the present sink.
inline sink _sink __attribute__((__visibility__("default"))) = to_stdio;

// Sets the sink, for the program and all its shared libraries that export their symbols. The sink may be called on several threads at once.
__inline__ void set_sink(sink _next)
{
	__atomic_store_n(&_sink, _next, __ATOMIC_RELEASE);
}

// A statement that is on: it collects the text, and gives it to the sink at the end. The stream is allocated, because it would otherwise be on the
// stack of functions with statements, even if all are off.
class _statement {
public:
	__attribute__((__cold__, __noinline__)) _statement(const char *_file, unsigned int _line, int _level)
		: _all(new _gathered{ { _file, _line, _level, {} }, {} })
	{
	}
	_statement(const _statement &) = delete;
	_statement &operator=(const _statement &) = delete;
	__attribute__((__cold__, __noinline__)) ~_statement()
	{
		std::string _text = _all->_stream.str();

		_all->_is.text = _text;
		__atomic_load_n(&_sink, __ATOMIC_ACQUIRE)(_all->_is);
		delete _all;
	}
	__attribute__((__cold__, __noinline__)) std::ostream &_stream() { return _all->_stream; }

private:
	struct _gathered {
		message _is;
		std::ostringstream _stream;
	};
	_gathered *_all;
};

// Makes both arms of `?:` void. The operator `&` binds weaker than `<<`, and stronger than `?:`.
struct _ignore {
	template <class _type> void operator&(const _type &) const {}
};

// True if the pattern matches all of the text: `*` stands for any text, `?` for one character.
constexpr bool _matches(std::string_view _pattern, std::string_view _text)
{
	std::size_t _at = 0, _in = 0, _star = std::string_view::npos, _from = 0;

	while (_in < _text.size()) {
		if (_at < _pattern.size() && _pattern[_at] == '*') {
			_star = ++_at;
			_from = _in;
		} else if (_at < _pattern.size() && (_pattern[_at] == '?' || _pattern[_at] == _text[_in])) {
			_at++;
			_in++;
		} else if (_star != std::string_view::npos) {
			_at = _star;
			_in = ++_from;
		} else {
			return false;
		}
	}
	while (_at < _pattern.size() && _pattern[_at] == '*')
		_at++;
	return _at == _pattern.size();
}

// True if a pattern chooses a file or module. A pattern without a slash is compared with the file's name, with or without its suffix: `net.cc`,
// `net`. One with a slash is compared with the path, or its last components, with or without the suffix.
constexpr bool _chooses(std::string_view _pattern, std::string_view _path)
{
	std::string_view _name = _path;

	_name.remove_prefix(_path.find_last_of('/') + 1);
	std::size_t _ending = _name.rfind('.');
	_ending = _ending == std::string_view::npos ? 0 : _name.size() - _ending;
	if (_pattern.find('/') == std::string_view::npos)
		return _matches(_pattern, _name) || _matches(_pattern, _name.substr(0, _name.size() - _ending));
	for (;;) {
		if (_matches(_pattern, _path) || _matches(_pattern, _path.substr(0, _path.size() - _ending)))
			return true;
		std::size_t _slash = _path.find('/');
		if (_slash == std::string_view::npos)
			return false;
		_path.remove_prefix(_slash + 1);
	}
}

// Sets levels: `PATTERN=LEVEL,PATTERN=LEVEL`. For each file, the first pattern that chooses it counts; files that no pattern chooses keep their
// levels. Level -1 turns everything off, even VLOG(0). All levels change together. Returns the number of chosen files and modules, or an error like
// jumplabel_set_all(): then nothing has changed. A library that is loaded later is not affected: call this again.
__inline__ long set(std::string_view _levels)
{
	struct _rule {
		std::string_view _pattern;
		int _level;
	};
	struct _work {
		std::vector<_rule> _rules{};
		std::vector<jumplabel_change> _changes{};
		long _chosen = 0;
	} _all;

	while (!_levels.empty()) {
		std::string_view _item = _levels.substr(0, _levels.find(','));
		std::size_t _equals = _item.rfind('=');

		_levels.remove_prefix(_item.size() < _levels.size() ? _item.size() + 1 : _item.size());
		if (_equals == std::string_view::npos || _equals == 0 || _equals + 1 == _item.size() || _item.size() - _equals > 4)
			return -22; // EINVAL
		std::string_view _number = _item.substr(_equals + 1);
		int _level = 0;
		if (_number == "-1")
			_level = -1;
		else
			for (char _digit : _number) {
				if (_digit < '0' || _digit > '9')
					return -22;
				_level = _level * 10 + (_digit - '0');
			}
		_all._rules.push_back({ _item.substr(0, _equals), _level });
	}
	long _count = jumplabel_for_each_key(
		[](const jumplabel_key_info *_info, void *_data) {
			_work &_of = *static_cast<_work *>(_data);
			std::string_view _name(_info->name, _info->name_length);

			if (_name.substr(0, 5) != "vlog:" || _info->element < 0)
				return;
			_name.remove_prefix(5);
			for (const _rule &_one : _of._rules)
				if (_chooses(_one._pattern, _name)) {
					_of._changes.push_back({ _info->key, _info->element <= _one._level });
					_of._chosen += _info->element == 0;
					break;
				}
		},
		&_all);
	if (_count < 0)
		return _count;
	int _error = _all._changes.empty() ? 0 : jumplabel_set_all(_all._changes.data(), _all._changes.size());
	return _error ? _error : _all._chosen;
}

} // namespace vlog
} // namespace jumplabel

// To be used outside of functions.
#define VLOG_FILE()                                                                                                    \
	__attribute__((__unused__)) static DEFINE_STATIC_KEY_ARRAY_FALSE(jumplabel_vlog_levels, JUMPLABEL_VLOG_LEVELS); \
	RECORD_STATIC_KEY_ARRAY(jumplabel_vlog_levels, "vlog:" __FILE__)
#define DECLARE_VLOG_MODULE(module) extern static_key_false module[JUMPLABEL_VLOG_LEVELS]
#define DEFINE_VLOG_MODULE(module, name)                                                                               \
	DECLARE_VLOG_MODULE(module);                                                                                   \
	DEFINE_STATIC_KEY_ARRAY_FALSE(module, JUMPLABEL_VLOG_LEVELS);                                                  \
	RECORD_STATIC_KEY_ARRAY(module, "vlog:" name)

#define VLOG_IN_IS_ON(module, level)                                                                                   \
	static_branch_unlikely(&module[(::jumplabel_vlog_level_<(level), sizeof(module) / sizeof(*module)>::_value)])
template <int _level, int _levels> struct jumplabel_vlog_level_ {
	static_assert(_level >= 0 && _level < _levels, "VLOG() takes a constant from 0 to JUMPLABEL_VLOG_LEVELS - 1, which is 4 unless it is defined");
	static constexpr int _value = _level;
};

// `stream` is the beginning of another logger's statement: JUMPLABEL_VLOG_TO(module, 1, LOG(INFO)) << "text".
#define JUMPLABEL_VLOG_TO(module, level, stream)                                                                       \
	!VLOG_IN_IS_ON(module, level) ? (void)0 : ::jumplabel::vlog::_ignore() & stream
#define VLOG_IN(module, level)                                                                                         \
	JUMPLABEL_VLOG_TO(module, level, ::jumplabel::vlog::_statement(__FILE__, __LINE__, level)._stream())

#define JUMPLABEL_VLOG(level) VLOG_IN(jumplabel_vlog_levels, level)
#define JUMPLABEL_VLOG_IS_ON(level) VLOG_IN_IS_ON(jumplabel_vlog_levels, level)
#ifndef JUMPLABEL_VLOG_NO_SHORT_NAMES
#undef VLOG
#undef VLOG_IS_ON
#define VLOG(level) JUMPLABEL_VLOG(level)
#define VLOG_IS_ON(level) JUMPLABEL_VLOG_IS_ON(level)
#endif

#endif
