/* The least that a program takes to start and to end; scripts/bench links it statically. */
int main(void)
{
    return 0;
}
