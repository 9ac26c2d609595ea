"""What lies in the file of a package."""

import json
import zipfile


def arrays_of(path):
    """Bytes of all weights as they are, bytes of all that is packed, and the manifest."""
    with zipfile.ZipFile(path) as archive:
        sizes = {i.filename: i.file_size for i in archive.infolist()}
        manifest = json.loads(archive.read("manifest.json"))
    return (*(sum(size for name, size in sizes.items() if name.startswith(kind)) for kind in ("weights/", "bound/")), manifest)
