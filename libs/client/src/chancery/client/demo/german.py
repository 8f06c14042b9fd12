"""The German words of the demo."""

from __future__ import annotations

from typing import Final

from chancery.client.demo.wording import Table, Template, Wording, listed, separate

_DUTY_NOTES: Final = (
    "Diese Seite gehört zum Handbuch und wird von allen gelesen, die neu beginnen.",
    "Wenn hier etwas veraltet ist, sagen Sie es bitte {other}.",
    "Zuletzt wurde sie im Frühjahr Zeile für Zeile durchgegangen.",
    "Im Urlaub übernimmt eine Vertretung, die der Wochenplan nennt.",
)
_TERM_NOTES: Final = (
    "Diese Hinweise erklären, wie die Zahlen zustande kommen.",
    "Sie werden jede Nacht aus dem Hauptbuch erneuert.",
    "Korrekturen stehen in eigenen Zeilen und überschreiben nichts.",
    "Fragen zu einzelnen Zeilen beantwortet {other}.",
)

_SUBJECTS: Final = (
    "Lieferantenaudits", "Servicegespräche", "Notfallübungen", "Preisausnahmen",
    "Sicherheitsbegehungen", "Vertragsverlängerungen", "Garantiefälle",
)  # fmt: skip

WORDING: Final = Wording(
    workspace_title="Bereich {team}",
    subjects=_SUBJECTS,
    currencies=("Euro", "Schweizer Franken", "norwegische Krone"),
    duties=(
        Template(
            source_id="zustaendigkeiten",
            title="Zuständigkeiten: {topic}",
            sentence="Verantwortlich für {topic} ist {person}.",
            question="wer ist verantwortlich für {topic}",
            around=_DUTY_NOTES,
        ),
        Template(
            source_id="freigaben",
            title="Freigaben für {topic}",
            sentence="{topic} genehmigt {person}, und zwar schriftlich.",
            question="wer genehmigt {topic}",
            around=_DUTY_NOTES,
        ),
        Template(
            source_id="leitung",
            title="Leitung der {topic}",
            sentence="Alle {topic} leitet seit dem Sommer {person}.",
            question="wer leitet die {topic}",
            around=_DUTY_NOTES,
        ),
    ),
    terms=(
        Template(
            source_id="hinweise",
            title="Hinweise zum Datensatz {dataset}",
            sentence="Die Währung des Datensatzes {dataset} ist {currency}.",
            question="was ist die Währung des Datensatzes {dataset}",
            around=_TERM_NOTES,
        ),
        Template(
            source_id="fristen",
            title="Fristen für {table}",
            sentence="Für {table} gilt eine Aufbewahrungsfrist von {number} Monaten.",
            question="welche Aufbewahrungsfrist gilt für {table}",
            around=_TERM_NOTES,
        ),
        Template(
            source_id="zahlungsziele",
            title="Zahlungen: {table}",
            sentence="Das Zahlungsziel für {table} beträgt {number} Tage netto.",
            question="was ist das Zahlungsziel für {table}",
            around=_TERM_NOTES,
        ),
    ),
    tables=(
        Table(
            dataset_id="bestellungen",
            noun="Bestellungen",
            title="Bestellungen des Jahres",
            key="rechnung",
            columns=("betrag", "netto", "summe"),
            measure="Summe der Rechnungsbeträge",
            description="Was alle Rechnungen zusammen ausmachen.",
            synonyms=("Gesamtbetrag der Rechnungen",),
            questions=(
                "was ist die Summe der Rechnungsbeträge",
                "was ist der Gesamtbetrag der Rechnungen",
            ),
        ),
        Table(
            dataset_id="spenden",
            noun="Spenden",
            title="Spenden nach Herkunft",
            key="quittung",
            columns=("betrag", "gabe", "wert"),
            measure="Gesamte Spendensumme",
            description="Der Wert aller Quittungen zusammen.",
            synonyms=("Spendensumme aller Quittungen",),
            questions=(
                "wie hoch ist die gesamte Spendensumme",
                "was ist die gesamte Spendensumme",
            ),
        ),
    ),
    joins=(listed("und", comma=False), separate),
    unanswerable=(
        "Wie viele Monde hat der Neptun?",
        "Übersetze guten Morgen ins Französische.",
        "Wie wird das Wetter in Lissabon?",
        "Schreib mir ein Gedicht über das Meer.",
    ),
)
