/* In MSVC, a header defines this function. */
int __stdio_common_vsprintf(unsigned long long, char *, unsigned long long, const char *, void *, __builtin_va_list);

int snprintf(char *text, unsigned long long bytes, const char *format, ...)
{
	__builtin_va_list arguments;
	int length;

	__builtin_va_start(arguments, format);
	length = __stdio_common_vsprintf(2, text, bytes, format, 0, arguments);
	__builtin_va_end(arguments);
	return length;
}
