/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the files of optional.c's program. It is like a header of another project, which C++ code includes inside of extern "C". */
#ifdef __cplusplus
extern "C" {
#endif
DECLARE_STATIC_KEY_TRUE(elsewhere);
int is_elsewhere(void);
#ifdef __cplusplus
}
#endif
