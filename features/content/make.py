#!/usr/bin/env python3
"""Makes the PDF fixtures of this directory, byte for byte the same each time.

harmless.pdf   one page with one sentence.
poison.pdf     its page draws a form, and the form draws itself. A parser that follows forms
               without a bound on the depth overflows its stack: the process dies.
bomb.pdf       its page is one stream of blanks, named thousands of times. A parser that puts the
               page together needs half a GiB for it: within a limit of memory the process dies.
malformed.pdf  begins like a PDF and ends in the middle: parsers refuse it each time.
"""

import pathlib

HERE = pathlib.Path(__file__).parent


def pdf(objects):
    """A PDF of these objects, numbered from 1; the first is the catalogue."""
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return out


def stream(content, entries=b""):
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(content), content)


def page(content, resources, *more, times=1):
    """A page with this content, repeated so many times."""
    contents = b"4 0 R" if times == 1 else b"[" + b" ".join([b"4 0 R"] * times) + b"]"
    return pdf([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %s /Resources << %s >> >>"
        % (contents, resources),
        stream(content),
        *more,
    ])


harmless = page(
    b"BT /F1 12 Tf 72 770 Td (Nothing in this document harms a parser.) Tj ET",
    b"/Font << /F1 5 0 R >>",
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
)
poison = page(
    b"/Again Do",
    b"/XObject << /Again 5 0 R >>",
    stream(
        b"/Again Do",
        b"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << /Again 5 0 R >> >>",
    ),
)
bomb = page(b" " * (64 << 10), b"", times=8 << 10)

(HERE / "harmless.pdf").write_bytes(harmless)
(HERE / "poison.pdf").write_bytes(poison)
(HERE / "bomb.pdf").write_bytes(bomb)
(HERE / "malformed.pdf").write_bytes(harmless[: len(harmless) // 3])
