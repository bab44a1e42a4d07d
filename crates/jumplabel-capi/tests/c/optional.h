/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the files of optional.c's program share: as another project's header, which C++ includes inside of extern "C". */
#ifdef __cplusplus
extern "C" {
#endif
DECLARE_STATIC_KEY_TRUE(elsewhere);
int is_elsewhere(void);
#ifdef __cplusplus
}
#endif
