/* What MSVC's C library has in files of its own, for programs and DLLs of the tests: their entries. */
int main(int, char **);
__declspec(noreturn) void exit(int);

/* Rust's std looks at the arguments by other means. */
void mainCRTStartup(void)
{
	exit(main(0, 0));
}
