/* The DllMain of DLLs that define none. */
int DllMain(void *module, unsigned int reason, void *reserved)
{
	(void)module, (void)reason, (void)reserved;
	return 1;
}
