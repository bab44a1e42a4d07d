/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program around conformance.c, which may be in a shared library. */
#ifdef __cplusplus
extern "C"
#endif
int conformance(void);

int main(void)
{
	return conformance();
}
