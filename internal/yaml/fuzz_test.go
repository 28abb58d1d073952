package yaml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzAgainstLibrary: any bytes are read as the library reads them, or refused as
// it refuses them, but for the reasons in onlyOurs and onlyTheirs.
func FuzzAgainstLibrary(f *testing.F) {
	for _, file := range files(f) {
		f.Add(file)
	}
	for _, rows := range rows {
		for _, r := range rows {
			f.Add([]byte(r.text))
		}
	}
	for _, r := range refused {
		f.Add([]byte(r.text))
	}
	for _, text := range []string{"{?é}: #>2+", "[? ''\\\n`>\n\t]", `{"a": "b\/\ud83d\ude00"}`, "%YAML 1.2\n---\n", "a\n---\n\ufeffb", "[? : ]", "# a\n\t# b\n", "? a\n# b\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

// files are the manifests of the repository.
func files(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, pattern := range []string{"../manifest/testdata/*.[yj]*", "../../cmd/graced/testdata/*.json", "../config/testdata/*/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal("no files", pattern, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".golden") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data)
		}
	}
	return all
}
