/* The program, where the rest is in a library. */
int judge(void);

int main(void) { return judge(); }
