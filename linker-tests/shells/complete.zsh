# Prints each argument as zsh completes it: complete.zsh DIRECTORY LINE...
#
# Completion runs in interactive shells only, so that another shell gets the keys through a terminal: Tab, and Control-X, which
# prints the line and clears it.
zmodload zsh/zpty
directory=$1
shift
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=(${(q)directory} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'print-line() { print -r -- "[$BUFFER]"; BUFFER=; zle accept-line }; zle -N print-line; bindkey ^X print-line'
zpty -w shell 'print "started" by zsh'
zpty -r -m shell line '*started by zsh*'
for words; do
    zpty -w -n shell "$words"$'\t\x18'
    zpty -r -m shell line '*\[*\]*'
    print -r -- ${${line##*\[}%%\]*}
done
zpty -d shell
