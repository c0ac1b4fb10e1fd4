"""Members come and go, in virtual time; the parcels always have somebody, and never two."""

from __future__ import annotations

from collections import Counter

from parcels import Parcel, ParcelSpec, post_office

from steersman import Client, ObjectMeta
from steersman.testing import Cluster, virtual_time

COUNT = 40


async def send(client: Client) -> None:
    for number in range(COUNT):
        parcel = Parcel(metadata=ObjectMeta(name=f"parcel-{number}"), spec=ParcelSpec(to="Piraeus"))
        await client.create(parcel)


async def handlers(client: Client) -> dict[str, str]:
    return {parcel.metadata.name: parcel.status.handled_by for parcel in await client.list(Parcel)}


@virtual_time
async def test_members_share_the_parcels_and_take_over_from_each_other() -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        piraeus = await cluster.run_operator(post_office("piraeus"))
        athens = await cluster.run_operator(post_office("athens"))
        await send(client)
        await cluster.clock.advance(5)
        before = await handlers(client)
        shares = Counter(before.values())
        assert set(shares) == {"piraeus", "athens"}
        assert min(shares.values()) > COUNT / 5, "nobody has almost nothing"

        await piraeus.stop()
        await cluster.clock.advance(2)
        assert set((await handlers(client)).values()) == {"athens"}, "handed over when it goes"

        await cluster.run_operator(post_office("corinth"))
        await cluster.clock.advance(5)
        assert set((await handlers(client)).values()) == {"athens", "corinth"}

        await athens.kill()
        await cluster.clock.advance(10)
        assert set((await handlers(client)).values()) == {"corinth"}, "taken over when it dies"
