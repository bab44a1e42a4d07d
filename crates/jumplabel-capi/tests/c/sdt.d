/* Probes of tests/c/sdt.c, with arguments of each kind. */
#pragma D attributes Evolving/Evolving/Common provider sdt provider

provider sdt {
	probe none();
	probe packet__sent(unsigned long, short, char *);
	probe packet__received(unsigned long, short, char *);
	probe small(signed char, unsigned char, char, bool);
	probe words(short, unsigned short, int, unsigned int);
	probe wide(long, unsigned long, long long, unsigned long long);
	probe addresses(const char *, void *, int *, const int *);
	probe arrays(char *, int *);
	probe reals(double, float);
	probe kinds(int, unsigned int, unsigned int);
	probe qualified(const int, volatile short, const unsigned char);
	probe constants(int, long, char);
	probe five(int, int, int, int, int);
	probe six(int, int, int, int, int, int);
	probe seven(int, int, int, int, int, int, int);
	probe eight(int, int, int, int, int, int, int, int);
	probe nine(int, int, int, int, int, int, int, int, int);
	probe ten(int, int, int, int, int, int, int, int, int, int);
	probe eleven(int, int, int, int, int, int, int, int, int, int, int);
	probe twelve(int, int, int, int, int, int, int, int, int, int, int, int);
	probe inlined(int);
	probe elsewhere(int);
};
