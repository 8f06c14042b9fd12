"""The steps that publish: two documents and a dataset, until they can be asked about."""

from __future__ import annotations

from collections.abc import Mapping

from chancery.client.demo.stage import Stage
from chancery.client.demo.telling import expect
from chancery.client.workspace import Table
from chancery.kernel.canonical import Json


async def documents(stage: Stage) -> Mapping[str, Json]:
    """Publish both documents, grant the restricted one to the reader, and wait for the index."""
    scenario, cast, narrator = stage.scenario, stage.cast, stage.narrator
    workspace = cast.publisher.workspace(scenario.workspace_id)
    sequences: dict[str, Json] = {}
    for document in (scenario.ownership, scenario.terms):
        await workspace.declare_source(
            document.source_id, document.title, visibility=document.visibility
        )
        published = await workspace.publish_text(document.source_id, document.text)
        status = await workspace.wait_until_ready(document.source_id, published.revision)
        expect(status.state == "ready", f"{document.source_id} is ready, not {status.state}")
        sequences[document.source_id] = published.sequence
        narrator.tell(
            f"“{document.title}” ({document.visibility}): revision {published.revision} is ready"
        )
    await workspace.grant("sources", scenario.ownership.source_id, scenario.reader)
    narrator.tell(f"{scenario.reader} is granted “{scenario.ownership.title}”")
    return {"sequences": sequences}


async def dataset(stage: Stage) -> Mapping[str, Json]:
    """Publish the dataset with its measure and wait until it can be queried."""
    drawn, narrator = stage.scenario.dataset, stage.narrator
    workspace = stage.cast.publisher.workspace(stage.scenario.workspace_id)
    await workspace.declare_dataset(
        drawn.dataset_id, Table(title=drawn.title, measures=(drawn.measure,))
    )
    snapshot = await workspace.publish_snapshot(drawn.dataset_id, drawn.csv.encode())
    expect(snapshot.state == "ready", f"the snapshot is ready, not {snapshot.state}")
    amounts = ", ".join(f"{each:,}" for each in drawn.amounts)
    narrator.tell(f"“{drawn.title}”: snapshot {snapshot.snapshot} holds the amounts {amounts}")
    narrator.tell(f"declared measure: “{drawn.measure.name}”")
    return {"snapshot": snapshot.snapshot, "sequence": snapshot.sequence}
