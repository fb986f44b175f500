package config

import "parley/internal/sections"

// platforms are those of the catalog, which only tests outside of the package can import: they set them.
var platforms []sections.Section

// SetPlatforms sets the platforms that tests read the sections of.
func SetPlatforms(all []sections.Section) { platforms = all }
