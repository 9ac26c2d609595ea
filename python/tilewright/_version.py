"""The version of the package; the SDK that it works with has the same major and minor number."""

version = "0.1.0"
