/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tables of operations: small operations that are done in many places, all in one of 2 to 8 ways, the backends. Backend 0 is native: while it is in
 * force, an operation in place is one instruction, on the registers that the compiler chose. docs/ops.md explains how this works, the rules, and when
 * it pays.
 *
 *     DEFINE_PV_OPS(events, 3);                     in one file: three backends; 0 is in force at first
 *     DECLARE_PV_OPS(events, 3);                    in others
 *
 *     static inline void count(unsigned *counter)   an operation; its arguments are parameters
 *     {
 *         PV_OP(events, count, (counter),
 *               PV_IN_PLACE(plain, PV_DISP32 "lock incl (%[counter])"),
 *               PV_IN_PLACE(twice, "lock addl $2, (%[counter])"),
 *               PV_NOTHING);
 *     }
 *     pv_ops_set(events, 1);                        changes all operations of the table to backend 1, for all threads, or none
 *
 * Each backend has an arm; the arms are in the order of the backends' numbers:
 *
 *     PV_IN_PLACE(func, text)        `text` is assembler with operands (two percent signs stand for one). For backend 0, it is the site:
 *                                    one instruction of at least 5 bytes; PV_DISP32 before it makes an access to memory long enough. For
 *                                    another backend, it is a body of at most 64 bytes, with a jump back, which may write the result,
 *                                    memory and flags. func(arguments) must do the same; it is used on other processors, and with
 *                                    JUMPLABEL_FALLBACK
 *     PV_CALL(func)                  calls the function, which must not unwind. Not for backend 0. It keeps all registers, which costs
 *                                    some hundred cycles
 *     PV_IN_PLACE_ELSE_CALL(func, text)
 *                                    has a slow way: the text may jump to PV_SLOW_WAY, which calls the function
 *     PV_NOTHING                     does nothing. Not for an operation with PV_OP_RESULT(), which must have a result
 *
 * An operation with a result:
 *
 *     PV_OP_RESULT(ret, events, name, (arguments), arms...)     writes the result to the variable `ret`, %[ret] in the texts
 *     PV_OP_INOUT(events, name, (value, arguments), arms...)    changes the first argument
 *
 * There can be up to six arguments. They, and an argument that is changed, must be pointers or integers of 32 or 64 bits; a result may be any integer
 * or pointer. %q[name] stands for all 64 bits of an operand. The compiler assumes that an operation writes any memory.
 *
 *     pv_ops_set(name, backend)      returns 0, or a negative errno like <jumplabel.h>'s functions; then nothing has changed. -EINVAL:
 *                                    there is no such backend, or an instruction breaks a rule; -EAGAIN: threads run, and the writer
 *                                    remap is refused; -EROFS. It costs, blocks, and is safe as static_branch_enable() is. While it runs,
 *                                    each operation is done by the old backend or by the new one
 *     pv_ops_native(name)            sets backend 0
 *     pv_ops_query(name)             the backend in force; costs a load
 *     pv_ops_seal(name)              forbids all further changes
 *
 * An operation can also be a static call. The table lists it, with a function for each backend, and pv_ops_set() updates it together with the others:
 *
 *     DEFINE_STATIC_CALL(wait, spin);
 *     DEFINE_PV_OPS_WITH_CALLS(locks, 2, PV_STATIC_CALL(wait, spin, block), ...);
 *
 * A backend can have hooks, functions that pv_ops_set() and threads call; any may be NULL. pv_ops_set() first calls `init` (Linux:
 * xen_init_spinlocks). A thread that uses the operations calls pv_ops_thread_start() at its begin, and after a change of the backend, and
 * pv_ops_thread_exit() at its end:
 *
 *     static const struct pv_hooks hooks[2] = { { NULL, NULL, NULL }, { init, thread_start, thread_exit } };
 *     DEFINE_PV_OPS_WITH_HOOKS(locks, 2, hooks);                                     one set per backend; calls may follow
 *
 *     struct pv_thread thread = pv_ops_thread_start(locks);                          calls the hook of the backend in force
 *     pv_ops_thread_exit(thread);                                                    calls the hook of that same backend
 */
#ifndef JUMPLABEL_PV_OPS_H
#define JUMPLABEL_PV_OPS_H

#include "static_call.h"
#include "static_switch.h"

/* A table of operations. All members are the library's. */
struct pv_ops {
	struct static_mode mode;
};

/* A static call of a table, and its new target. All members are the library's. */
struct jumplabel_op_call {
	struct static_call_key *key;
	jumplabel_function_ _func, _first;
};

/* The hooks of a backend; any may be NULL. */
struct pv_hooks {
	void (*init)(void);
	void (*thread_start)(void);
	void (*thread_exit)(void);
};

/* A thread for which a backend's hook was called. The member is the library's. */
struct pv_thread {
	void (*_exit)(void);
};

JUMPLABEL_C_BEGIN_

/* These return 0, or a negative errno, like <jumplabel.h>'s functions. The macros call them. `_calls` must be all calls of the table. */
int jumplabel_ops_set(struct pv_ops *_ops, int _backend, const struct jumplabel_op_call *_calls, size_t _count);
int jumplabel_ops_seal(struct pv_ops *_ops);

JUMPLABEL_C_END_

#define DECLARE_PV_OPS(name, n)                                                                                        \
	JUMPLABEL_ASSERT_((n) >= 2 && (n) <= 8, "a table of operations has 2 to 8 backends");                          \
	typedef char jumplabel_modes_of_##name##_[n][1];                                                               \
	JUMPLABEL_EXTERN_C_ int jumplabel_set_##name##_(int _backend) JUMPLABEL_SHOWN_;                                \
	JUMPLABEL_EXTERN_C_ const JUMPLABEL_STRUCT_ pv_hooks *jumplabel_hooks_##name##_(int _backend) JUMPLABEL_SHOWN_; \
	extern struct pv_ops name

#define DEFINE_PV_OPS(name, n)                                                                                         \
	JUMPLABEL_PV_OPS_(name, n, JUMPLABEL_NULL_, return jumplabel_ops_set(&name, jumplabel_backend, JUMPLABEL_NULL_, 0))
#define DEFINE_PV_OPS_WITH_CALLS(name, n, ...)                                                                         \
	JUMPLABEL_PV_OPS_(name, n, JUMPLABEL_NULL_, JUMPLABEL_SET_CALLS_(name, n, __VA_ARGS__, ))
#define DEFINE_PV_OPS_WITH_HOOKS(name, n, ...)                                                                         \
	JUMPLABEL_ASSERT_(sizeof(JUMPLABEL_ONE_OF_(__VA_ARGS__)) == (n) * sizeof(struct pv_hooks),                     \
			  "a table of operations has hooks for each backend");                                         \
	JUMPLABEL_PV_OPS_(name, n, JUMPLABEL_ONE_OF_(__VA_ARGS__) + jumplabel_backend,                                 \
			  JUMPLABEL_SET_CALLS_(name, n, JUMPLABEL_ARGUMENTS_BEHIND_(__VA_ARGS__)))

/* A comma follows each call. As there may be none, the array has one more element. */
#define JUMPLABEL_SET_CALLS_(name, n, ...)                                                                             \
	enum { jumplabel_backends = (n) };                                                                             \
	JUMPLABEL_STRUCT_ jumplabel_op_call jumplabel_calls[] = { __VA_ARGS__ { JUMPLABEL_NULL_, JUMPLABEL_NULL_, JUMPLABEL_NULL_ } }; \
	return jumplabel_ops_set(&name, jumplabel_backend, jumplabel_calls,                                            \
				 sizeof(jumplabel_calls) / sizeof(*jumplabel_calls) - 1)

#define PV_STATIC_CALL(name, ...)                                                                                      \
	__extension__({                                                                                                \
		static JUMPLABEL_CALL_TYPE_(name) const jumplabel_functions[] = { __VA_ARGS__ };                       \
		JUMPLABEL_ASSERT_(sizeof(jumplabel_functions) / sizeof(*jumplabel_functions) == jumplabel_backends,    \
				  "a call of a table has one function for each backend");                              \
		jumplabel_op_call_(JUMPLABEL_CALL_(name)(),                                                            \
				   JUMPLABEL_CAST_(jumplabel_function_, jumplabel_functions[jumplabel_backend]));      \
	})
static __inline__ struct jumplabel_op_call jumplabel_op_call_(struct jumplabel_call_ _call, jumplabel_function_ _func)
{
	struct jumplabel_op_call _led = { _call.key, jumplabel_function_of_(_call, _func), _call._first };
	return _led;
}

/* Flag 4 marks the mode as a table of operations. */
#define JUMPLABEL_PV_OPS_(name, n, hooks, ...)                                                                         \
	DECLARE_PV_OPS(name, n);                                                                                       \
	JUMPLABEL_MODE_RECORD_(name)                                                                                   \
	JUMPLABEL_EXTERN_C_ const JUMPLABEL_STRUCT_ pv_hooks *jumplabel_hooks_##name##_(int jumplabel_backend)         \
	{                                                                                                              \
		(void)jumplabel_backend;                                                                               \
		return hooks;                                                                                          \
	}                                                                                                              \
	JUMPLABEL_EXTERN_C_ int jumplabel_set_##name##_(int jumplabel_backend)                                         \
	{                                                                                                              \
		if (jumplabel_backend < 0 || jumplabel_backend >= (n))                                                 \
			return jumplabel_ops_set(&name, jumplabel_backend, JUMPLABEL_NULL_, 0);                                   \
		jumplabel_pv_init_(jumplabel_hooks_##name##_(jumplabel_backend));                                      \
		{                                                                                                      \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
	}                                                                                                              \
	struct pv_ops name = { { 0, 0, n, 0, 4 } }

static __inline__ void jumplabel_pv_init_(const struct pv_hooks *_hooks)
{
	if (_hooks && _hooks->init)
		_hooks->init();
}

static __inline__ struct pv_thread jumplabel_pv_thread_(const struct pv_hooks *_hooks)
{
	struct pv_thread _thread = { _hooks ? _hooks->thread_exit : JUMPLABEL_NULL_ };
	if (_hooks && _hooks->thread_start)
		_hooks->thread_start();
	return _thread;
}

static __inline__ void pv_ops_thread_exit(struct pv_thread _thread)
{
	if (_thread._exit)
		_thread._exit();
}

#define pv_ops_set(name, backend) jumplabel_set_##name##_(backend)
#define pv_ops_native(name) pv_ops_set(name, 0)
#define pv_ops_query(name) static_mode_get((name).mode)
#define pv_ops_thread_start(name) jumplabel_pv_thread_(jumplabel_hooks_##name##_(pv_ops_query(name)))
#define pv_ops_seal(name) jumplabel_ops_seal(&(name))

#define PV_IN_PLACE(func, text) (JUMPLABEL_CLOSED, func, text)
#define PV_CALL(func) (JUMPLABEL_OPEN, func, )
#define PV_IN_PLACE_ELSE_CALL(func, text) (JUMPLABEL_BOTH, func, text)
#define PV_SLOW_WAY "8806f"
#define PV_NOTHING (JUMPLABEL_NOTHING, , )

/* The braces are escaped, because in gcc's assembler text with operands, braces choose a dialect. */
#define PV_DISP32 "%{disp32%} "

#define PV_OP(table, op, arguments, ...)                                                                               \
	JUMPLABEL_OP_(_CASE_, table, #op, , , "", arguments, arguments, __VA_ARGS__)
#define PV_OP_RESULT(result, table, op, arguments, ...)                                                                \
	do {                                                                                                           \
		JUMPLABEL_ASSERT_(!JUMPLABEL_IS_FLOAT_(result),                                                        \
				  "the result of an operation is an integer or a pointer: convert " #result);          \
		JUMPLABEL_OP_(_RESULT_, table, #op, (result) =, [ret] "=&r"(result), JUMPLABEL_RESULT_(ret), arguments, \
			      arguments, __VA_ARGS__);                                                                 \
	} while (0)
#define PV_OP_INOUT(table, op, arguments, ...)                                                                         \
	JUMPLABEL_OP_(_CASE_, table, #op, JUMPLABEL_ONE_OF_(JUMPLABEL_UNWRAP_ arguments) =,                            \
		      JUMPLABEL_INOUT_(JUMPLABEL_ONE_OF_(JUMPLABEL_UNWRAP_ arguments)),                                \
		      JUMPLABEL_RESULT_(JUMPLABEL_ONE_OF_(JUMPLABEL_UNWRAP_ arguments)),                               \
		      (JUMPLABEL_ARGUMENTS_BEHIND_(JUMPLABEL_UNWRAP_ arguments)), arguments, __VA_ARGS__)

#define JUMPLABEL_UNWRAP_(...) __VA_ARGS__
#define JUMPLABEL_JOIN_(a, b) JUMPLABEL_PASTE_(a, b)
#define JUMPLABEL_ONE_OF_(...) JUMPLABEL_ONE_OF__(__VA_ARGS__, )
#define JUMPLABEL_ONE_OF__(first, ...) first
#define JUMPLABEL_ARGUMENTS_BEHIND_(...) JUMPLABEL_ARGUMENTS_BEHIND__(__VA_ARGS__, )
#define JUMPLABEL_ARGUMENTS_BEHIND__(first, ...) __VA_ARGS__
#define JUMPLABEL_OTHER_OF_(...) JUMPLABEL_OTHER_OF__(__VA_ARGS__, )
#define JUMPLABEL_OTHER_OF__(first, second, ...) second
#define JUMPLABEL_INOUT_(first) JUMPLABEL_INOUT__(first)
#define JUMPLABEL_INOUT__(first) [first] "+&r"(first)

/* Expands to m(place, argument) for each argument, with its place in a stub's frame. Expands to nothing if there are none. */
#define JUMPLABEL_ARGUMENTS_(m, ...) JUMPLABEL_ARGUMENTS__(m, __VA_ARGS__, , , , , , , )
#define JUMPLABEL_ARGUMENTS__(m, a, b, c, d, e, f, more, ...)                                                          \
	JUMPLABEL_ARGUMENT_(m, "8", a)                                                                                 \
	JUMPLABEL_ARGUMENT_(m, "16", b)                                                                                \
	JUMPLABEL_ARGUMENT_(m, "24", c)                                                                                \
	JUMPLABEL_ARGUMENT_(m, "32", d)                                                                                \
	JUMPLABEL_ARGUMENT_(m, "40", e)                                                                                \
	JUMPLABEL_ARGUMENT_(m, "48", f)                                                                                \
	JUMPLABEL_ARGUMENT_(jumplabel_an_operation_has_six_arguments_at_most, "56", more)
#define JUMPLABEL_ARGUMENT_(m, place, argument)                                                                        \
	JUMPLABEL_OTHER_OF_(JUMPLABEL_NO_ARGUMENT_##argument, m)(place, argument)
#define JUMPLABEL_NO_ARGUMENT_ , JUMPLABEL_IGNORED_
#define JUMPLABEL_IGNORED_(place, argument)

/* For each arm but the first, expands the macro whose name is the sort of the arm followed by `m`. */
#define JUMPLABEL_COUNT_(...) JUMPLABEL_COUNT__(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, )
#define JUMPLABEL_COUNT__(a, b, c, d, e, f, g, h, count, ...) count
#define JUMPLABEL_OTHERS_(m, x, y, ...) JUMPLABEL_JOIN_(JUMPLABEL_OTHERS_, JUMPLABEL_COUNT_(__VA_ARGS__))(m, x, y, __VA_ARGS__)
#define JUMPLABEL_OTHERS_1(m, x, y, a)
#define JUMPLABEL_OTHERS_2(m, x, y, a, b) JUMPLABEL_OTHERS_1(m, x, y, a) JUMPLABEL_ARM_OF_(m, x, y, 1, b)
#define JUMPLABEL_OTHERS_3(m, x, y, a, b, c) JUMPLABEL_OTHERS_2(m, x, y, a, b) JUMPLABEL_ARM_OF_(m, x, y, 2, c)
#define JUMPLABEL_OTHERS_4(m, x, y, a, b, c, d) JUMPLABEL_OTHERS_3(m, x, y, a, b, c) JUMPLABEL_ARM_OF_(m, x, y, 3, d)
#define JUMPLABEL_OTHERS_5(m, x, y, a, b, c, d, e) JUMPLABEL_OTHERS_4(m, x, y, a, b, c, d) JUMPLABEL_ARM_OF_(m, x, y, 4, e)
#define JUMPLABEL_OTHERS_6(m, x, y, a, b, c, d, e, f)                                                                  \
	JUMPLABEL_OTHERS_5(m, x, y, a, b, c, d, e) JUMPLABEL_ARM_OF_(m, x, y, 5, f)
#define JUMPLABEL_OTHERS_7(m, x, y, a, b, c, d, e, f, g)                                                               \
	JUMPLABEL_OTHERS_6(m, x, y, a, b, c, d, e, f) JUMPLABEL_ARM_OF_(m, x, y, 6, g)
#define JUMPLABEL_OTHERS_8(m, x, y, a, b, c, d, e, f, g, h)                                                            \
	JUMPLABEL_OTHERS_7(m, x, y, a, b, c, d, e, f, g) JUMPLABEL_ARM_OF_(m, x, y, 7, h)
#define JUMPLABEL_ARM_OF_(m, x, y, k, arm) JUMPLABEL_ARM_OF__(m, x, y, k, JUMPLABEL_UNWRAP_ arm)
#define JUMPLABEL_ARM_OF__(...) JUMPLABEL_ARM_OF___(__VA_ARGS__)
#define JUMPLABEL_ARM_OF___(m, x, y, k, sort, func, text) sort##m(x, y, k, func, text)

#define JUMPLABEL_OP_(cases, table, op, assign, output, back, inputs, arguments, ...)                                         \
	do {                                                                                                           \
		JUMPLABEL_ASSERT_(JUMPLABEL_COUNT_(__VA_ARGS__) == JUMPLABEL_MODES_(table),                            \
				  "an operation has one arm for each backend of its table");                           \
		JUMPLABEL_ARGUMENTS_(JUMPLABEL_FIT_, JUMPLABEL_UNWRAP_ arguments)                                      \
		JUMPLABEL_OP_IN_PLACE_(table, op, output, back, inputs, arguments, __VA_ARGS__)                        \
		switch (pv_ops_query(table)) {                                                                         \
			JUMPLABEL_ARM_OF_(cases, (op, assign), arguments, 0, JUMPLABEL_ONE_OF_(__VA_ARGS__))           \
			JUMPLABEL_OTHERS_(cases, (op, assign), arguments, __VA_ARGS__)                                 \
		default:                                                                                               \
			__builtin_unreachable();                                                                       \
		}                                                                                                      \
	} while (0)

/* Smaller integers are refused, because compilers differ in who extends them. Floats are refused, because they are not in general registers. */
#define JUMPLABEL_FIT_(place, argument)                                                                                \
	JUMPLABEL_ASSERT_((sizeof(argument) == 4 || sizeof(argument) == 8) && !JUMPLABEL_IS_FLOAT_(argument),          \
			  "arguments of an operation are integers of 32 or 64 bits, and pointers: convert " #argument);
#ifdef __cplusplus
extern "C++" { /* Needed if the header is included inside of extern "C". */
template <class _other> char (&jumplabel_float_(const _other &))[1];
char (&jumplabel_float_(const float &))[2];
char (&jumplabel_float_(const double &))[2];
} /* extern "C++" */
#define JUMPLABEL_IS_FLOAT_(x) (sizeof(jumplabel_float_(x)) == 2)
#else
#define JUMPLABEL_IS_FLOAT_(x) _Generic((x), float: true, double: true, default: false)
#endif
#define JUMPLABEL_OP_NAME_(op, assign) op
#define JUMPLABEL_ASSIGN_(op, assign) assign
#define JUMPLABEL_CLOSED_CASE_(op, arguments, k, func, text)                                                           \
	case k:                                                                                                        \
		JUMPLABEL_ASSIGN_ op func arguments;                                                                   \
		break;
#define JUMPLABEL_OPEN_CASE_ JUMPLABEL_CLOSED_CASE_
#define JUMPLABEL_BOTH_CASE_ JUMPLABEL_CLOSED_CASE_
#define JUMPLABEL_NOTHING_CASE_(op, arguments, k, func, text)                                                          \
	case k:                                                                                                        \
		break;

/* The cases of an operation with a result. */
#define JUMPLABEL_CLOSED_RESULT_ JUMPLABEL_CLOSED_CASE_
#define JUMPLABEL_OPEN_RESULT_ JUMPLABEL_CLOSED_CASE_
#define JUMPLABEL_BOTH_RESULT_ JUMPLABEL_CLOSED_CASE_
#define JUMPLABEL_NOTHING_RESULT_(op, arguments, k, func, text)                                                        \
	case k: {                                                                                                      \
		JUMPLABEL_ASSERT_(0, "the operation " JUMPLABEL_OP_NAME_ op                                            \
				     " has a result, which PV_NOTHING does not write: name a function");               \
	} break;

#include "pv_op_site.h"

#endif
