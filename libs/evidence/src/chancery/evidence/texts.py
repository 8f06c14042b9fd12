"""The fixed texts of an answer, by language; adding a language is adding its entries here.

`TEMPLATE_VERSION` stands in every receipt: a change of wording is a new version, beside the old.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from chancery.events.authority import Language
from chancery.events.release import Outcome
from chancery.kernel.errors import Corrupt

TEMPLATE_VERSION: Final = "1"
LANGUAGES: Final[tuple[Language, ...]] = ("en", "de", "fr", "es", "ja")

TextName: TypeAlias = Literal["introduction", "page", "part", "withheld", "regenerated"] | Outcome

_ENGLISH: Final[Mapping[TextName, str]] = {
    "introduction": "The following is quoted or calculated from evidence that you may read.",
    "page": "page",
    "part": "part",
    "insufficient_evidence": (
        "The available evidence does not support an answer. "
        "Please refine the question or choose another source."
    ),
    "source_access": (
        "A selected source cannot be used. "
        "Please check the selection or ask for access to another source."
    ),
    "rlm_unsupported": (
        "This kind of analysis is not available for the selection. "
        "Please choose another mode or another source."
    ),
    "access_changing": (
        "Access to the evidence is changing at the moment. Please ask again shortly."
    ),
    "scope_too_wide": (
        "The question touches more sources than one answer can use. "
        "Please select fewer sources and ask again."
    ),
    "unavailable": "The answer could not be completed in time. Please ask again.",
    "withheld": (
        "This answer is withheld: the evidence it used is no longer available to you. "
        "Please ask again."
    ),
    "regenerated": "An earlier draft was discarded; the answer is being prepared again.",
}

_GERMAN: Final[Mapping[TextName, str]] = {
    "introduction": ("Das Folgende ist aus Belegen zitiert oder berechnet, die Sie lesen dürfen."),
    "page": "Seite",
    "part": "Teil",
    "insufficient_evidence": (
        "Die verfügbaren Belege stützen keine Antwort. "
        "Bitte präzisieren Sie die Frage oder wählen Sie eine andere Quelle."
    ),
    "source_access": (
        "Eine ausgewählte Quelle kann nicht verwendet werden. "
        "Bitte prüfen Sie die Auswahl oder bitten Sie um Zugang zu einer anderen Quelle."
    ),
    "rlm_unsupported": (
        "Diese Art der Analyse steht für die Auswahl nicht zur Verfügung. "
        "Bitte wählen Sie einen anderen Modus oder eine andere Quelle."
    ),
    "access_changing": (
        "Der Zugang zu den Belegen ändert sich gerade. Bitte fragen Sie in Kürze noch einmal."
    ),
    "scope_too_wide": (
        "Die Frage berührt mehr Quellen, als eine Antwort verwenden kann. "
        "Bitte wählen Sie weniger Quellen aus und fragen Sie noch einmal."
    ),
    "unavailable": (
        "Die Antwort konnte nicht rechtzeitig fertiggestellt werden. Bitte fragen Sie noch einmal."
    ),
    "withheld": (
        "Diese Antwort wird zurückgehalten: Die verwendeten Belege stehen Ihnen nicht mehr zur "
        "Verfügung. Bitte fragen Sie noch einmal."
    ),
    "regenerated": "Ein früherer Entwurf wurde verworfen; die Antwort wird neu erstellt.",
}

_FRENCH: Final[Mapping[TextName, str]] = {
    "introduction": (
        "Ce qui suit est cité ou calculé à partir d’éléments que vous êtes autorisé à consulter."
    ),
    "page": "page",
    "part": "partie",
    "insufficient_evidence": (
        "Les éléments disponibles ne permettent pas de répondre. "
        "Veuillez préciser la question ou choisir une autre source."
    ),
    "source_access": (
        "Une source sélectionnée ne peut pas être utilisée. "
        "Veuillez vérifier la sélection ou demander l’accès à une autre source."
    ),
    "rlm_unsupported": (
        "Ce type d’analyse n’est pas disponible pour cette sélection. "
        "Veuillez choisir un autre mode ou une autre source."
    ),
    "access_changing": (
        "L’accès aux éléments est en cours de modification. "
        "Veuillez reposer la question dans un instant."
    ),
    "scope_too_wide": (
        "La question concerne plus de sources qu’une réponse ne peut en utiliser. "
        "Veuillez sélectionner moins de sources et reposer la question."
    ),
    "unavailable": "La réponse n’a pas pu être achevée à temps. Veuillez reposer la question.",
    "withheld": (
        "Cette réponse n’est plus communiquée : les éléments utilisés ne vous sont plus "
        "accessibles. Veuillez reposer la question."
    ),
    "regenerated": (
        "Une version antérieure a été abandonnée ; la réponse est en cours de préparation."
    ),
}

_SPANISH: Final[Mapping[TextName, str]] = {
    "introduction": (
        "Lo siguiente está citado o calculado a partir de evidencias que usted puede consultar."
    ),
    "page": "página",
    "part": "parte",
    "insufficient_evidence": (
        "Las evidencias disponibles no permiten dar una respuesta. "
        "Precise la pregunta o elija otra fuente."
    ),
    "source_access": (
        "Una de las fuentes seleccionadas no se puede utilizar. "
        "Revise la selección o solicite acceso a otra fuente."
    ),
    "rlm_unsupported": (
        "Este tipo de análisis no está disponible para la selección. Elija otro modo u otra fuente."
    ),
    "access_changing": (
        "El acceso a las evidencias está cambiando en este momento. "
        "Vuelva a preguntar en unos instantes."
    ),
    "scope_too_wide": (
        "La pregunta abarca más fuentes de las que puede utilizar una respuesta. "
        "Seleccione menos fuentes y vuelva a preguntar."
    ),
    "unavailable": "La respuesta no se pudo completar a tiempo. Vuelva a preguntar.",
    "withheld": (
        "Esta respuesta ya no se muestra: las evidencias utilizadas han dejado de estar a su "
        "disposición. Vuelva a preguntar."
    ),
    "regenerated": ("Se descartó un borrador anterior; la respuesta se está preparando de nuevo."),
}

_JAPANESE: Final[Mapping[TextName, str]] = {
    "introduction": "以下は、閲覧が許可されている根拠資料からの引用または算出値です。",
    "page": "ページ",
    "part": "パート",
    "insufficient_evidence": (
        "利用できる根拠資料からは回答できません。質問を具体的にするか、別の情報源を選択してください。"
    ),
    "source_access": (
        "選択された情報源の中に利用できないものがあります。"
        "選択内容を確認するか、別の情報源へのアクセスを申請してください。"
    ),
    "rlm_unsupported": (
        "選択された対象では、この種類の分析を利用できません。"
        "別のモードまたは別の情報源を選択してください。"
    ),
    "access_changing": (
        "根拠資料へのアクセス権が変更されている最中です。しばらくしてからもう一度質問してください。"
    ),
    "scope_too_wide": (
        "質問の対象となる情報源が、一つの回答で利用できる数を超えています。"
        "情報源を絞り込んで、もう一度質問してください。"
    ),
    "unavailable": "時間内に回答を完了できませんでした。もう一度質問してください。",
    "withheld": (
        "この回答は表示できません。使用された根拠資料を閲覧できなくなりました。"
        "もう一度質問してください。"
    ),
    "regenerated": "以前の下書きは破棄されました。回答を作成し直しています。",
}

_VERSIONS: Final[Mapping[str, Mapping[Language, Mapping[TextName, str]]]] = {
    "1": {
        "en": _ENGLISH,
        "de": _GERMAN,
        "fr": _FRENCH,
        "es": _SPANISH,
        "ja": _JAPANESE,
    }
}


class PlaceWords(NamedTuple):
    """The words that tell where a quotation stands."""

    page: str
    part: str


class UnknownTemplate(Corrupt):
    """A receipt names a template version that this build does not have."""

    code = "unknown_template"


def fixed_text(name: TextName, language: Language, template_version: str = TEMPLATE_VERSION) -> str:
    """Return the fixed text `name` in `language`, as that version of the templates words it.

    Raises:
        UnknownTemplate: for a version that this build does not have.
    """
    version = _VERSIONS.get(template_version)
    if version is None:
        message = "this build does not have the template version"
        raise UnknownTemplate(message, field="template_version")
    return version[language][name]


def place_words(language: Language, template_version: str = TEMPLATE_VERSION) -> PlaceWords:
    """Return the words for a place in `language`."""
    return PlaceWords(
        page=fixed_text("page", language, template_version),
        part=fixed_text("part", language, template_version),
    )


def introduction(language: Language, template_version: str = TEMPLATE_VERSION) -> str:
    """Return the sentence that opens every answer."""
    return fixed_text("introduction", language, template_version)


def explanation(
    outcome: Outcome, language: Language, template_version: str = TEMPLATE_VERSION
) -> str:
    """Return the fixed explanation of a refusal."""
    return fixed_text(outcome, language, template_version)


def withheld_notice(language: Language) -> str:
    """Return the fixed notice in the place of an answer that may not be shown any more."""
    return fixed_text("withheld", language)


def regeneration_notice(language: Language) -> str:
    """Return the fixed notice that an earlier draft no longer counts."""
    return fixed_text("regenerated", language)
