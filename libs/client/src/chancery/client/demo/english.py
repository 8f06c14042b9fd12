"""The English words of the demo; the first of each list tells the story of the documentation."""

from __future__ import annotations

from typing import Final

from chancery.client.demo.wording import Table, Template, Wording, listed, separate

_DUTY_NOTES: Final = (
    "This page is part of the handbook and is read by everyone who joins.",
    "If something here is out of date, please tell {other}.",
    "It was last gone through line by line at the spring meeting.",
    "Holidays are covered by a deputy, whom the rota names each week.",
)
_TERM_NOTES: Final = (
    "These notes explain how the figures come about.",
    "They are refreshed every night from the ledger.",
    "Corrections are booked as lines of their own and never overwrite anything.",
    "Questions about single entries go to {other}.",
)

_SUBJECTS: Final = (
    "service reviews", "supplier audits", "incident drills", "access certifications",
    "warranty claims", "price overrides", "safety inspections", "contract renewals",
)  # fmt: skip

WORDING: Final = Wording(
    workspace_title="{team} desk",
    subjects=_SUBJECTS,
    currencies=("euro", "Swiss franc", "Danish krone", "pound sterling", "Canadian dollar"),
    duties=(
        Template(
            source_id="service-handbook",
            title="Handbook of {topic}",
            sentence="{person} owns {topic} and answers for them to the board.",
            question="who owns {topic}",
            around=_DUTY_NOTES,
        ),
        Template(
            source_id="approvals",
            title="Rules for {topic}",
            sentence="{topic} are approved by {person}.",
            question="who approves {topic}",
            around=_DUTY_NOTES,
        ),
        Template(
            source_id="responsibilities",
            title="Who does what: {topic}",
            sentence="The person responsible for {topic} is {person}.",
            question="who is responsible for {topic}",
            around=_DUTY_NOTES,
        ),
        Template(
            source_id="sign-off",
            title="Month end: {topic}",
            sentence="Before the month closes, {person} signs off all {topic}.",
            question="who signs off {topic}",
            around=_DUTY_NOTES,
        ),
    ),
    terms=(
        Template(
            source_id="dataset-notes",
            title="Notes on {table}",
            sentence="The currency of the {dataset} dataset is the {currency}.",
            question="what is the currency of the {dataset} dataset",
            around=_TERM_NOTES,
        ),
        Template(
            source_id="retention",
            title="Retention of {table}",
            sentence="The retention period for {table} is {number} months.",
            question="what is the retention period for {table}",
            around=_TERM_NOTES,
        ),
        Template(
            source_id="payment-terms",
            title="Payments for {table}",
            sentence="Payment terms of {number} days net apply to all {table}.",
            question="which payment terms apply to {table}",
            around=_TERM_NOTES,
        ),
    ),
    tables=(
        Table(
            dataset_id="orders",
            noun="orders",
            title="Orders of the year",
            key="invoice",
            columns=("amount", "net_amount", "total"),
            measure="total invoice amount",
            description="What all invoices amount to.",
            synonyms=("invoice total", "sum of all invoices"),
            questions=(
                "what is the total invoice amount",
                "what is the sum of all invoices",
                "what do the invoices amount to in total",
            ),
        ),
        Table(
            dataset_id="shipments",
            noun="shipments",
            title="Shipments with their freight",
            key="waybill",
            columns=("freight", "cost", "charge"),
            measure="total freight cost",
            description="The freight of all waybills together.",
            synonyms=("freight total", "sum of freight costs"),
            questions=(
                "what is the total freight cost",
                "what is the sum of freight costs",
                "which freight total do the waybills have",
            ),
        ),
        Table(
            dataset_id="repairs",
            noun="repairs",
            title="Repairs by workshop",
            key="ticket",
            columns=("labour", "parts_cost", "bill"),
            measure="overall repair bill",
            description="The bill of all repair tickets together.",
            synonyms=("total repair bill", "sum of repair tickets"),
            questions=(
                "what is the overall repair bill",
                "what is the total repair bill",
                "what is the sum of repair tickets",
            ),
        ),
    ),
    joins=(listed("and", comma=True), listed("and", comma=False), separate),
    unanswerable=(
        "What is the boiling point of tungsten?",
        "How many moons does Neptune have?",
        "Translate good morning into French.",
        "What is 17 times 23?",
        "Write a poem about the sea.",
        "Hello, how are you today?",
    ),
)
