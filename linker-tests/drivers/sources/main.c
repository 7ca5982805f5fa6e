extern int printf(const char *, ...);
int main(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    x += 41;
    printf("%d\n", x);
    return x != 42;
}
