/* Checks files against a policy, and prints the verdict as JSON: check POLICY FILE...
 * The exit status is that of "fatbin check": 0 if the policy is met, 1 if not, 2 if that cannot be decided. */
#include <fatbin.h>

#include <stdio.h>

int main(int argc, char **argv) {
    static char policy[65536];
    FILE *input = argc > 2 ? fopen(argv[1], "rb") : NULL;
    if (input == NULL) {
        fprintf(stderr, "usage: check POLICY FILE...\n");
        return 2;
    }
    policy[fread(policy, 1, sizeof policy - 1, input)] = '\0';
    fclose(input);

    fatbin_error *error;
    fatbin_verdict *verdict = fatbin_check(policy, (const char *const *)argv + 2, (size_t)argc - 2, &error);
    if (verdict == NULL) {
        fprintf(stderr, "%s\n", fatbin_error_message(error));
        fatbin_error_free(error);
        return 2;
    }
    fputs(fatbin_verdict_json(verdict), stdout);
    fatbin_outcome outcome = fatbin_verdict_outcome(verdict);
    fatbin_verdict_free(verdict);
    switch (outcome) {
    case FATBIN_OUTCOME_PASSED:
    case FATBIN_OUTCOME_WARNED:
        return 0;
    case FATBIN_OUTCOME_VIOLATED:
        return 1;
    default:
        return 2;
    }
}
