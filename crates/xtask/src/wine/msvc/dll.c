/* The entry of a DLL. */
int _DllMainCRTStartup(void *module, unsigned int reason, void *reserved)
{
	(void)module, (void)reason, (void)reserved;
	return 1;
}
