#pragma omp declare target
int d(int x) { return x + 40; }
#pragma omp end declare target
