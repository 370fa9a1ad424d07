"""Write llms.txt, a list of the pages of the site for programs that read it: https://llmstxt.org."""

from pathlib import Path

import fuselearn


def write_llms_txt(app, exception):
    """List the guides first, then the gallery and the reference."""
    if exception is not None or app.builder.format != "html":
        return
    titles = {name: title.astext() for name, title in app.env.titles.items() if name != app.config.root_doc}
    sections = {
        "Guides": [name for name in titles if "/" not in name],
        "Gallery": [name for name in titles if name.startswith("gallery/plot_")],
        "API reference": [name for name in titles if name.startswith("api/")],
    }
    lines = [f"# {app.config.project}", "", f"> {fuselearn.__doc__.strip()}"]
    for section, names in sections.items():
        lines += ["", f"## {section}", ""]
        lines += [f"- [{titles[name]}]({app.builder.get_target_uri(name)})" for name in sorted(names)]
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    """Write the file when the site is built."""
    app.connect("build-finished", write_llms_txt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
