extern int printf(const char *, ...);
#pragma omp declare target
int d(int);
#pragma omp end declare target
int main(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    x = d(x) + 1;
    printf("%d\n", x);
    return x != 42;
}
