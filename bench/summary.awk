# Prints, for each value of each benchmark, the median and the range over its runs.
/^Benchmark/ {
	name = $1
	sub(/^Benchmark/, "", name)
	sub(/-[0-9]+$/, "", name)
	for (i = 3; i < NF; i += 2) {
		key = name " " $(i + 1)
		if (!(key in n)) order[++keys] = key
		# insert in order
		for (j = ++n[key]; j > 1 && v[key, j - 1] > $i + 0; j--) v[key, j] = v[key, j - 1]
		v[key, j] = $i + 0
	}
}
END {
	printf "%-42s %-18s %12s %12s %12s\n", "benchmark", "value", "median", "least", "most"
	for (k = 1; k <= keys; k++) {
		key = order[k]
		split(key, part, " ")
		c = n[key]
		median = (v[key, int((c + 1) / 2)] + v[key, int(c / 2) + 1]) / 2
		printf "%-42s %-18s %12.4g %12.4g %12.4g\n", part[1], part[2], median, v[key, 1], v[key, c]
	}
}
