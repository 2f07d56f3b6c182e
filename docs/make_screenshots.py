"""Takes pictures of the page, with made-up films and people and Chromium, into docs/figures."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image
from playwright.sync_api import sync_playwright

from discreet.domain import Catalog
from discreet.methods import fit
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.protocols import servers
from discreet.ratings import read_ratings
from discreet.serve import Server, Settings

FIGURES = Path(__file__).parent / "figures"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SIZES = {
    "phone": {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 2},
    "desktop": {"viewport": {"width": 1240, "height": 900}, "device_scale_factor": 1},
}
TOKEN = "a-token-for-the-pictures-alone"  # noqa: S105
COLOURS = 96
PEOPLE = 24_000
# Films of no cinema, by what they are like. As in many catalogues, articles come last.
FILMS = {
    "Science fiction": """Long Orbit, The (1984)|Signal from Europa (2009)|Ninth Colony, The (1991)
        Glass Machines (1978)|Sleepers of Titan (1996)|Parallel Tuesday (2014)|Lighthouse in Orbit
        Memory Exchange, The (2003)|Cold Reactor (1987)|Last Cosmonaut, The (1972)|Tidal Moon (2018)
        Android's Daughter, The (1999)|Zero Horizon (2006)|Beyond the Heliopause (1981)""",
    "Crime": """Night Ledger, The (1958)|Quiet Accomplice, A (1974)|Midnight at Pier Nine (1949)
        Thirteenth Alibi, The (1967)|Safe House Blues (1995)|Dead Drop in Lisbon (1983)|Forger, The
        Rain over Precinct Six (1988)|Second Witness, The (2001)|Cold Case Winter (2011)
        Informer's Wife, The (1953)|Nine Minutes to Close (1979)|Paper Vault, The (2016)""",
    "Romance": """Summer in Trieste, A (1962)|Letters We Never Sent (1998)|Second Violin, The (1985)
        Ferry to Naxos, The (2004)|Before the Harvest (1971)|Dancing on Rue Lepic (1956)
        Half an Orange (2012)|Weather Girl, The (1989)|Slow Train to Porto (1993)|Apricot Season
        Piano Tuner's Niece, The (2008)|Late Spring Rain (1966)|Two Umbrellas (2000)""",
    "Comedy": """Uncle Bernard's Boat (1977)|Wrong Wedding, The (1994)|Committee, The (1969)
        My Landlord the Duke (1951)|Three Weeks' Notice Period (2005)|Honest Burglar, An (1964)
        Assistant to the Assistant (2010)|Goat on the Runway (1982)|Fish for Breakfast (1990)
        Great Marmalade Affair, The (1973)|Sorry, Wrong Castle (1986)
        Plumber's Opera, The (2002)""",
    "Family": """Fox Who Kept Bees, The (1997)|Captain Thimble (2007)|Moonlit Menagerie, The (1988)
        Nora and the North Wind (2013)|Smallest Dragon, The (1992)|Kite Season (1975)|Owl Street
        Paper Boat Regatta, The (1985)|Clockmaker's Cat, The (2001)|Snow on Button Hill (1968)
        Tin Elephant, The (1979)|Grandmother's Submarine (2015)|Hundred Lanterns, A (2005)""",
    "Documentary": """Bread: A History (1999)|Keepers of the Ice (2010)|Forty Bridges (1984)
        Salt Road, The (1976)|What the Bees Know (2014)|Cathedral Builders, The (1990)
        River That Was Moved, The (2003)|Weaving Village, The (1969)|Typeface (2008)
        One Litre (2017)""",
}
RATED = {
    "The Long Orbit": 5,
    "Glass Machines": 5,
    "Nora and the North Wind": 4,
    "The Wrong Wedding": 2,
    "The Night Ledger": 4,
    "Two Umbrellas": 1,
    "Captain Thimble": 5,
    "The Salt Road": 3,
}


def make_catalog() -> Catalog:
    """All films, with their genres."""
    films = [
        (title.strip(), genre)
        for genre, lines in FILMS.items()
        for line in lines.splitlines()
        for title in line.split("|")
    ]
    titles, genres = zip(*films, strict=True)
    return Catalog([f"film-{n}" for n in range(len(titles))], titles, columns={"Genre": genres})


def publish(path: Path, ledger: Ledger) -> Catalog:
    """A release of ratings by people who like some kinds of films and not others."""
    rng = np.random.default_rng(7)
    catalog = make_catalog()
    kinds = np.unique(catalog.columns["Genre"], return_inverse=True)[1]
    fame = np.exp(rng.normal(0, 0.8, len(catalog.ids)))
    merit = rng.normal(3.4, 0.35, len(catalog.ids))
    taste = rng.normal(0, 0.9, (PEOPLE, kinds.max() + 1))
    seen = rng.random((PEOPLE, len(kinds))) < np.clip(
        0.2 * fame * np.exp(0.7 * taste[:, kinds]), 0, 0.9
    )
    user, item = np.nonzero(seen)
    value = merit[item] + taste[user, kinds[item]] + rng.normal(0, 0.7, len(user))
    table = pl.DataFrame(
        {
            "user": user,
            "item": np.array(catalog.ids)[item],
            "rating": np.clip(np.rint(value), 1, 5).astype(int),
        }
    )
    ratings = read_ratings(table, scale=(1, 5), catalog=catalog)
    for epsilon in (0.3, 0.5, 0.4, 0.3):
        fit(ratings, protect="user", epsilon=epsilon, ledger=ledger)
    fit(ratings, protect="user", epsilon=1.0, ledger=ledger).save(path)
    return catalog


def open_page(browser: Any, url: str, size: str, scheme: str) -> Any:
    """A page with a few films rated."""
    page = browser.new_page(color_scheme=scheme, service_workers="block", **SIZES[size])
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    for title, stars in RATED.items():
        page.get_by_label("Look for a title").fill(title)
        page.locator("#results > li").first.get_by_title(f"{stars} of 5").click()
    page.get_by_label("Look for a title").fill("")
    settle(page)
    return page


def settle(page: Any) -> None:
    """Nothing is pointed at, and nothing moves."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(600)


def shoot(page: Any, name: str) -> None:
    """Take the picture, with few colours."""
    path = FIGURES / f"{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def take(browser: Any, url: str, size: str, scheme: str) -> None:
    """The page as somebody sees it who has rated a few films; on a dark phone, what comes of it."""
    page = open_page(browser, url, size, scheme)
    if (size, scheme) == ("phone", "dark"):
        page.evaluate("document.querySelector('#for-you').scrollIntoView()")
        page.wait_for_timeout(300)
    shoot(page, f"page-{size}-{scheme}")
    if (size, scheme) == ("desktop", "light"):
        page.evaluate("document.querySelector('#privacy').scrollIntoView()")
        shoot(page, "page-privacy")
    page.close()


def take_operator(browser: Any, url: str) -> None:
    """The operator's page: the ledger over time."""
    page = browser.new_page(color_scheme="light", service_workers="block", **SIZES["desktop"])
    page.goto(f"{url}operator")
    page.get_by_label("The administrator's token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.locator("#ledger svg").first.wait_for()
    settle(page)
    shoot(page, "operator")
    page.close()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A service with the release, its ledger, and a collection for the next one."""
    limits = [Limit(Unit.USER, 4.0, 1e-6)]
    ledger = Ledger.create(folder / "films.ledger", "members of a film club", limits)
    catalog = publish(folder / "films.discreet", ledger)
    protocol = servers.find("local-reports").from_terms(catalog, _scale(), {"epsilon": 2.0})
    told = {"ledger": ledger.path, "admin_token": TOKEN}
    settings = Settings(folder / "films.discreet", protocol, str(folder / "sent.db"), **told)
    server = Server(settings, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"{server.url}/"
    finally:
        server.stop()
        thread.join()


def _scale() -> Any:
    from discreet.domain import Scale

    return Scale(1, 5)


def main() -> None:
    """All of them."""
    if BROWSER is None:
        sys.exit("there is no Chromium; 'make system-deps' installs it")
    FIGURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        for size in SIZES:
            for scheme in ("light", "dark"):
                take(browser, url, size, scheme)
        take_operator(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
