"""What a verified answer does not mean, in each language; the audit view repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chancery.events.authority import Language

_LIMITS: Final[Mapping[Language, tuple[str, str, str]]] = {
    "en": (
        (
            "Provenance is proven: not that a source is true, current, or that it entails more "
            "than it says."
        ),
        (
            "Sealed records resist the services; they do not resist whoever owns the database, "
            "except that a changed record no longer matches its proof."
        ),
        "What was already received cannot be recalled.",
    ),
    "de": (
        (
            "Bewiesen wird die Herkunft: nicht, dass eine Quelle wahr oder aktuell ist oder dass "
            "aus ihr mehr folgt, als sie sagt."
        ),
        (
            "Versiegelte Einträge halten den Diensten stand; wer die Datenbank besitzt, kann sie "
            "ändern, doch dann passen sie nicht mehr zu ihrem Beweis."
        ),
        "Was bereits empfangen wurde, lässt sich nicht zurückholen.",
    ),
    "fr": (
        (
            "La provenance est prouvée : non qu’une source soit vraie ou à jour, ni qu’elle "
            "implique plus que ce qu’elle dit."
        ),
        (
            "Les enregistrements scellés résistent aux services ; le propriétaire de la base de "
            "données peut les modifier, mais ils ne correspondent alors plus à leur preuve."
        ),
        "Ce qui a déjà été reçu ne peut pas être repris.",
    ),
    "es": (
        (
            "Se demuestra la procedencia: no que una fuente sea cierta o esté al día, ni que "
            "implique más de lo que dice."
        ),
        (
            "Los registros sellados resisten a los servicios; el propietario de la base de datos "
            "puede modificarlos, pero entonces dejan de coincidir con su prueba."
        ),
        "Lo que ya se ha recibido no se puede recuperar.",
    ),
    "ja": (
        "証明されるのは出典です。情報源が真実または最新であることや、記載以上のことが導かれることは証明しません。",
        (
            "封印された記録は各サービスからは変更できません。データベースの所有者は変更できますが、"
            "その場合は証明と一致しなくなります。"
        ),
        "すでに受信された内容を取り消すことはできません。",
    ),
}


def limits(language: Language) -> tuple[str, str, str]:
    """Return three sentences: on provenance, on the database's owner, on what was received."""
    return _LIMITS[language]
