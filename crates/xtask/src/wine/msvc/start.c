/* The entry of a program. MSVC's C library has it in no DLL. */
int main(int, char **);
__declspec(noreturn) void exit(int);

/* No arguments are passed: Rust's std asks the system for them. */
void mainCRTStartup(void)
{
	exit(main(0, 0));
}
