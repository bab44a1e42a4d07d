/* For DLLs without a function of this name. */
int DllMain(void *module, unsigned int reason, void *reserved)
{
	(void)module, (void)reason, (void)reserved;
	return 1;
}
