/* Objects with floating-point numbers name this. */
int _fltused = 0x9875;
