#!/bin/sh
# Counts turns of phrase in the comments of production code that have a plainer form: see "Style" in CONTRIBUTING.md.
#   tools/words.sh          the counts
#   tools/words.sh PATTERN  the lines that one pattern finds, such as `tools/words.sh goes-on`
#   tools/words.sh -check   fails if a count exceeds its limit
set -eu
cd "$(dirname "$0")/.."

comments() {
	git ls-files '*.go' ':!*_test.go' ':!*test/*' ':!*fake/*' ':!connectortest' ':!sim' ':!bench' ':!stories' ':!tools' ':!examples' |
		xargs grep -nHE '^[[:space:]]*//|[[:space:]]// ' | grep -vE '//(go:|nolint|export|line)' | sed -E 's|^([^:]*:[0-9]+:)[[:space:]]*//|\1 //|; s|^([^:]*:[0-9]+:).*[[:space:]]// |\1 // |'
}

# name, limit, expression
patterns() {
	cat <<'END'
what-noun 10 [^?]*\b[Ww]hat (is|was|are|were|it|they|he|she|we|you|has|had|have|does|did|do|can|could|must|may|would|will|a|an|the|this|that|these|those|people|users|others|each|one|models?|comes?|came|goes|went|follows?|happens?|happened|remains?|stays?|waits?|belongs?|matters?|exists?|needs?|makes?)\b
preposition-which 10 \b([Oo]f|[Tt]o|[Bb]y|[Ww]ith|[Ff]or|[Ii]n|[Ff]rom|[Oo]n|[Aa]fter|[Aa]t|[Uu]nder|[Dd]uring) which\b
goes-on 4 \b(goes?|going|went|gone) on\b
has-do 3 \b([Hh]as|[Hh]ave|[Hh]aving|[Hh]ad) (it|them|people|users|someone|others|all|(the|a|an|its|their|this|each|every|another) [a-z]+) (choose|answer|end|wait|go|read|write|look|ask|show|make|start|run|call|try|send|use|take|give|tell|see|wake|stop|remove|store|serve|work|open|close|ignore|describe|learn|confirm|approve|act|generate|listen|fetch|find|keep|know|begin|continue)\b
people 30 \b[Pp]eople\b
persons 5 // [A-Z][A-Za-z]* (knows|lets|hears|wants|remembers|says|sees)\b
says-that 8 \b(says|say|said|tells|tell|told) (that|whether|which|why|how|what|when|where|if)\b
old-words 0 \b([Nn]obody|[Ss]omebody|[Ww]hoever|[Aa]new|[Ww]hom|for ever)\b
END
}

failed=0
all=$(mktemp)
trap 'rm -f "$all"' EXIT
comments >"$all"
while read -r name limit expression; do
	case "${1:-}" in
	"" | -check) ;;
	"$name") grep -E "^[^ ]* .*($expression)" "$all" || true ;;
	*) continue ;;
	esac
	case "${1:-}" in "" | -check) ;; *) continue ;; esac
	n=$(grep -cE "^[^ ]* .*($expression)" "$all" || true)
	[ "$#" -gt 0 ] || printf '%-18s %5d  at most %d\n' "$name" "$n" "$limit"
	if [ "${1:-}" = -check ] && [ "$n" -gt "$limit" ]; then
		echo "$name: $n lines of comments, at most $limit; tools/words.sh $name lists them" >&2
		failed=1
	fi
done <<END
$(patterns)
END
exit $failed
