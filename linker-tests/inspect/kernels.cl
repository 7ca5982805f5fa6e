// What only OpenCL can say: the one shape of a work-group.
__kernel void any(__global int *out) { *out = 1; }

__kernel __attribute__((reqd_work_group_size(64, 2, 1))) void sized(__global float *values, int n) {
    values[n] = values[n + 1] * 2;
}
