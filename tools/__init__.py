"""What writes files: stubs, the reference, the pages of the site."""
