#pragma omp declare target
int __kmpc_target_init(void) { return 1; }
void __kmpc_target_deinit(void) {}
int shared(int x) { return x + 41; }
#pragma omp end declare target
int main(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    x = shared(x);
    return x != 42;
}
