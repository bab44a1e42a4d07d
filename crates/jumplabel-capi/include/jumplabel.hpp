// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ guards for <jumplabel.h>. They throw no exceptions: functions that can fail return an error.
#ifndef JUMPLABEL_HPP
#define JUMPLABEL_HPP

#include <initializer_list>

#include "jumplabel.h"

namespace jumplabel {

// Holds a key on as long as the object lives: it adds a user in the constructor, and removes it in the destructor. Scopes may nest and overlap, on
// any threads.
//
//     jumplabel::enabled_scope tracing(trace);
//     if (!tracing)
//             fputs(jumplabel_strerror(tracing.error()), stderr);
class [[__nodiscard__]] enabled_scope {
public:
	explicit enabled_scope(static_key &key) noexcept : _key(&key), _error(jumplabel_inc(&key)) {}
	explicit enabled_scope(static_key_true &key) noexcept : enabled_scope(key.key) {}
	explicit enabled_scope(static_key_false &key) noexcept : enabled_scope(key.key) {}

	enabled_scope(enabled_scope &&_other) noexcept : _key(_other._key), _error(_other._error)
	{
		_other._key = nullptr;
	}
	enabled_scope(const enabled_scope &) = delete;
	enabled_scope &operator=(const enabled_scope &) = delete;
	enabled_scope &operator=(enabled_scope &&) = delete;

	~enabled_scope()
	{
		if (_key && _error == 0)
			static_key_slow_dec(_key);
	}

	// True if the key was turned on, and is held on.
	explicit operator bool() const noexcept { return _key && _error == 0; }
	// 0, or the error because of which the key is not held.
	int error() const noexcept { return _error; }

private:
	static_key *_key;
	int _error;
};

// Holds jump_label_lock() as long as the object lives.
class [[__nodiscard__]] lock_scope {
public:
	lock_scope() noexcept { jump_label_lock(); }
	lock_scope(const lock_scope &) = delete;
	lock_scope &operator=(const lock_scope &) = delete;
	~lock_scope() { jump_label_unlock(); }
};

// A change for set_all.
template <class _type> jumplabel_change change(_type &key, bool enable) noexcept
{
	return { jumplabel_key(&key), enable };
}

// Changes several keys, all or nothing: set_all({ change(a, true), change(b, false) }). Returns 0, or an error if nothing has changed. For a
// container, call jumplabel_set_all(changes.data(), changes.size()).
[[__nodiscard__]] __inline__ int set_all(std::initializer_list<jumplabel_change> _changes) noexcept
{
	return jumplabel_set_all(_changes.begin(), _changes.size());
}

} // namespace jumplabel

#endif
