/* Objects with floating-point numbers refer to this symbol. */
int _fltused = 0x9875;
