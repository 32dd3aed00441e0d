"""Another machine, by the name that people give it: its settings for everything that is stored."""

from dataclasses import replace
from functools import partial

from importers.patience import Patience
from memory import crud
from memory.database import Database
from memory.errors import InvalidInput, LedgerError, NotFound
from memory.settings import Settings

__all__ = ["settings_in_time", "settings_of"]


async def settings_of(name: str, settings: Settings, *, may_be_new: bool = False) -> Settings:
    """Return the settings with the id of the machine that is called so.

    One that is not known gets its name as its id, if it ``may_be_new``; else raises NotFound.
    Raises InvalidInput when several are called so.
    """
    database = Database(settings)
    try:
        found = await database.transact(partial(crud.find_machine, name=name))
        if found is None:
            if not may_be_new:
                raise NotFound(
                    f"The ledger knows no machine {name[:40]!r}; `memory machines` lists them."
                )
            await database.transact(partial(crud.label_machine, machine=name, label=name))
    finally:
        await database.close()
    return replace(settings, machine=found or name)


async def settings_in_time(name: str, settings: Settings, *, patience: Patience) -> Settings:
    """Return the settings of a machine that may be new, as soon as the ledger is there to ask.

    When told to stop before, those that were given. Raises InvalidInput when several are called so.
    """
    while not patience.stop.is_set():
        try:
            found = await settings_of(name, settings, may_be_new=True)
        except InvalidInput:
            raise
        except LedgerError as error:
            await patience.wait(error)
        else:
            patience.end()
            return found
    return settings
