"""Codes of the languages that lines can be told apart by, and which other codes mean the same."""

_CODES = """
ace af:afr am:amh an:arg ar:ara:arb ary arz as:asm az:aze:azj ba:bak bcl be:bel bg:bul bn:ben br:bre bs:bos ca:cat crh
cs:ces:cze cy:cym:wel da:dan de:deu:ger dz:dzo el:ell:gre en:eng eo:epo es:spa et:est:ekk eu:eus:baq ext
fa:fas:per:pes fi:fin fo:fao fr:fra:fre fuv fy:fry ga:gle gcf gcr gd:gla gl:glg gom grc gu:guj gug:gn:grn guw ha:hau
hbo he:heb:iw hi:hin hr:hrv ht:hat hu:hun hy:hye:arm id:ind:in ig:ibo is:isl:ice it:ita ja:jpn jv:jav:jw ka:kat:geo
kab kik:ki kk:kaz km:khm kn:kan ko:kor ku:kur:kmr ky:kir la:lat lb:ltz lg:lug lij ln:lin lo:lao lt:lit ltg lv:lav:lvs
mg:mlg:plt mk:mkd:mac ml:mal mn:mon:khk mr:mar ms:msa:may:zsm mt:mlt my:mya:bur ne:nep:npi nl:nld:dut nn:nno
no:nor:nb:nob nso oc:oci om:orm:gaz or:ori:ory pa:pan pcm pl:pol ps:pus:pbt pt:por qu:que:quy ro:ron:rum:mo ru:rus
rw:kin sa:san sdh se:sme si:sin sk:slk:slo sl:slv sn:sna so:som sq:sqi:alb:als sr:srp st:sot sv:swe sw:swa:swh ta:tam
te:tel tg:tgk th:tha tk:tuk tl:tgl:fil tr:tur tt:tat ug:uig uk:ukr ur:urd uz:uzb:uzn uzs vec vi:vie vo:vol wa:wln wuu
xh:xho yo:yor yue zh:zho:chi:cmn zu:zul
"""
"""A label of py3langid, then other codes of the same language (ISO 639-1, 639-2 and 639-3, and withdrawn ones)."""
_LABELS = {code: codes.split(":")[0] for codes in _CODES.split() for code in codes.split(":")}
_INCLUDES = {
    "ar": ("ary", "arz"),
    "zh": ("wuu", "yue"),
    "no": ("nn",),
    "nor": ("nn",),
    "uz": ("uzs",),
    "ku": ("sdh",),
}
"""Labels of languages that a code stands for too, by the code as written or its label."""


def labels_of(code: str) -> frozenset[str]:
    """The labels that a language code stands for: `deu`, `de` and `de-AT` for `de`; `ar` for the kinds of Arabic, too.
    Empty for a language that is not known."""
    primary = code.strip().lower().replace("_", "-").split("-")[0]
    label = _LABELS.get(primary)
    if label is None:
        return frozenset()
    includes = _INCLUDES.get(primary, () if primary in ("nb", "nob") else _INCLUDES.get(label, ()))
    return frozenset({label, *includes})


def known_languages() -> list[str]:
    """The labels of all languages, in the order of the alphabet."""
    return sorted(set(_LABELS.values()))
