"""Two versions of one resource: v1 says `minutes: 90`, v2 says `time: 1h30m` and how many it serves.

Clients of either version see and write all objects. The operator's own class is what is stored; objects that
were stored as v1 are rewritten by and by, and then v1 could be dropped from the definition.
"""

from __future__ import annotations

from datetime import timedelta

from steersman import Context, CustomResource, Duration, Field, Model, Operator


class OldRecipeSpec(Model):
    minutes: int = Field(ge=1)


class OldRecipe(CustomResource, group="examples.steersman.dev", version="v1", kind="Recipe"):
    spec: OldRecipeSpec


class RecipeSpec(Model):
    time: Duration
    serves: int = Field(2, ge=1)


class RecipeStatus(Model):
    text: str = ""


class Recipe(CustomResource, group="examples.steersman.dev", version="v2"):
    spec: RecipeSpec
    status: RecipeStatus = RecipeStatus()


op = Operator(Recipe)


@op.convert(OldRecipe, Recipe)
def upgrade(old: OldRecipe) -> Recipe:
    return Recipe(spec=RecipeSpec(time=timedelta(minutes=old.spec.minutes)))


@op.convert(Recipe, OldRecipe)
def downgrade(new: Recipe) -> OldRecipe:
    """What v1 cannot say (whom it serves, the seconds) is kept beside it and comes back."""
    return OldRecipe(spec=OldRecipeSpec(minutes=max(1, new.spec.time // timedelta(minutes=1))))


@op.reconcile
async def describe(ctx: Context[Recipe]) -> None:
    """The operator knows one version only, whatever its users write."""
    spec = ctx.resource.spec
    await ctx.set_status(RecipeStatus(text=f"for {spec.serves}, ready after {spec.time}"))


if __name__ == "__main__":
    op.run()
