/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The system lets code become writable, but not read-only again. The change stands, and C learns of this by the warning hook. */
#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static DEFINE_STATIC_KEY_FALSE(key);

/* Makes mprotect() fail from now on, unless it asks for PROT_WRITE. */
static void refuse_to_close(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int main(void)
{
	jumplabel_set_warn(note_warning, NULL);
	CHECK(!jumplabel_set_writer("mprotect"));
	STEP(CHECK(!jumplabel_enable(jumplabel_key(&key))));
	refuse_to_close();
	WARNS("still writable", CHECK(!jumplabel_disable(jumplabel_key(&key))));
	CHECK(!static_branch_unlikely(&key));
	WARNS("still writable", static_branch_enable(&key));
	CHECK(static_branch_unlikely(&key));
	WARNS("still writable", CHECK(jumplabel_verify() == 0));
	WARNS("still writable", CHECK(jumplabel_prepare() == 0));
	puts("ok");
	return 0;
}
