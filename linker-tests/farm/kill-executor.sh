#!/bin/sh
# kill-executor.sh PROCESS DIRECTORY: stops fatbin in the middle of its output, kills the executor whose task started it, and
# writes to DIRECTORY/outcome whether fatbin ends. One of all processes that call this does it.
process=$1
directory=$2

# Prints a field of a file of /proc, or nothing for a process that has ended.
field() {
    sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/$3" 2>/dev/null
}

is_running() {
    case $(field "$1" State status) in
    '' | Z*) return 1 ;;
    esac
}

# Waits for the first bytes of the output.
while [ "$(field "$process" wchar io)" = 0 ]; do
    sleep 0.01
done
kill -STOP "$process" || exit
mkdir "$directory/killed" || { kill -CONT "$process"; exit; }

executor=$process
until grep -q CoarseGrainedExecutorBackend "/proc/$executor/cmdline"; do
    executor=$(field "$executor" PPid status)
done
kill -KILL "$executor"
kill -CONT "$process"

seconds=0
while is_running "$process" && [ $seconds -lt 30 ]; do
    sleep 1
    seconds=$((seconds + 1))
done
if is_running "$process"; then echo runs; else echo ended; fi >"$directory/outcome"
