/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The main function for conformance.c, which may be in a shared library. */
#ifdef __cplusplus
extern "C"
#endif
int conformance(void);

int main(void)
{
	return conformance();
}
