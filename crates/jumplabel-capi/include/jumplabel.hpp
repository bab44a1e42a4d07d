// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ guards over <jumplabel.h>. No exceptions: what can fail says so.
#ifndef JUMPLABEL_HPP
#define JUMPLABEL_HPP

#include "jumplabel.h"

namespace jumplabel {

// Holds a key on for as long as it lives: inc in the constructor, dec in the destructor. Scopes may nest and overlap, on
// any threads.
//
//     jumplabel::enabled_scope tracing(trace);
//     if (!tracing)
//             fputs(jumplabel_strerror(tracing.error()), stderr);
class [[nodiscard]] enabled_scope {
public:
	explicit enabled_scope(static_key &key) noexcept : key_(&key), error_(jumplabel_inc(&key)) {}
	explicit enabled_scope(static_key_true &key) noexcept : enabled_scope(key.key) {}
	explicit enabled_scope(static_key_false &key) noexcept : enabled_scope(key.key) {}

	enabled_scope(enabled_scope &&other) noexcept : key_(other.key_), error_(other.error_)
	{
		other.key_ = nullptr;
	}
	enabled_scope(const enabled_scope &) = delete;
	enabled_scope &operator=(const enabled_scope &) = delete;
	enabled_scope &operator=(enabled_scope &&) = delete;

	~enabled_scope()
	{
		if (key_ && error_ == 0)
			static_key_slow_dec(key_);
	}

	// Whether the key was turned on, and is held on.
	explicit operator bool() const noexcept { return key_ && error_ == 0; }
	// 0, or why not.
	int error() const noexcept { return error_; }

private:
	static_key *key_;
	int error_;
};

// Holds jump_label_lock() for as long as it lives.
class [[nodiscard]] lock_scope {
public:
	lock_scope() noexcept { jump_label_lock(); }
	lock_scope(const lock_scope &) = delete;
	lock_scope &operator=(const lock_scope &) = delete;
	~lock_scope() { jump_label_unlock(); }
};

// Changes of several keys, all or nothing: batch().enable(a).disable(b).commit().
class batch {
public:
	batch() noexcept { jumplabel_batch_init(&batch_); }

	template <class Key> batch &enable(Key &key) noexcept { return set(key, true); }
	template <class Key> batch &disable(Key &key) noexcept { return set(key, false); }
	template <class Key> batch &set(Key &key, bool enable) noexcept
	{
		jumplabel_batch_set(&batch_, jumplabel_key(&key), enable);
		return *this;
	}
	// 0, or why nothing has changed.
	[[nodiscard]] int commit() const noexcept { return jumplabel_batch_commit(&batch_); }

private:
	jumplabel_batch batch_;
};

} // namespace jumplabel

#endif
