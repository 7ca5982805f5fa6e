//! Containers rebuilt from the images that an edit keeps or replaces.
