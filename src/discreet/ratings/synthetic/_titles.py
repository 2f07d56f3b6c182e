"""Readable made-up titles, all different."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

# Years that titles are from, the newest the most frequent; chosen by hand.
_YEARS = 60

_FORMS = (
    ("The ", ""),
    ("Return of the ", ""),
    ("Beyond the ", ""),
    ("Letters to the ", ""),
    ("Waltz of the ", ""),
    ("My ", " and I"),
)

# Words that hardly meet outside this list, so that no pair is the title of something real.
_QUALITY_WORDS = """
Absentminded Afternoon Almond Amphibious Apologetic Apricot Asymmetric Backstage Baffled Balmy
Bamboo Barefoot Bashful Beeswax Belated Bewildered Biscuit Blinking Bookish Borrowed Bottled
Bouncing Brackish Buttered Buttoned Camphor Candid Cantankerous Cardboard Cautious Celery Chalky
Checkered Chestnut Chilly Chivalrous Clockwise Cobbled Collapsible Contrite Copper Corduroy
Counterfeit Courteous Crinkled Cucumber Custard Dappled Dawdling Decimal Delicate Devious Diagonal
Dimpled Discreet Dishevelled Dithering Dormant Dusty Earnest Eccentric Edible Elastic Elderflower
Embroidered Enamel Evasive Fastidious Feathered Fermented Fidgeting Flannel Flustered Folding
Forgetful Freckled Frugal Fumbling Galvanised Gargling Gilded Gingham Glazed Gluttonous Grateful
Gravelly Grumbling Guileless Haphazard Hazelnut Hesitant Hexagonal Hiccuping Horizontal Humming
Impartial Impeccable Indigo Inflatable Ingenious Itchy Jaunty Jittery Knitted Lacquered Lavender
Laminated Leftover Lenient Liquorice Lopsided Lukewarm Luminous Magnetic Marbled Marmalade
Meandering Melodious Meticulous Mildewed Mossy Muffled Mumbling Mustard Nearsighted Nettled
Nocturnal Nonchalant Oblong Obstinate Octagonal Overripe Paisley Paperback Parsley Patchwork
Peppered Perforated Pewter Pickled Pinstriped Pistachio Placid Plausible Pleated Polished
Portable Powdered Precarious Procrastinating Punctual Quilted Rambling Raspberry Reclining
Reluctant Reupholstered Rhubarb Roundabout Rustling Saffron Sauntering Sceptical Scribbled
Secondhand Semolina Shrugging Sideways Snoring Sociable Spotless Squinting Starched Steaming
Stencilled Stubborn Sunburnt Tangerine Tardy Tepid Terracotta Thrifty Ticklish Tiptoeing Topheavy
Translucent Turnip Turquoise Unassuming Underwater Unhurried Upholstered Varnished Velveteen
Vinegar Wandering Waterproof Wavering Weatherproof Whispering Wholesome Wicker Wobbling Woollen
Wrinkled Yawning Zigzag
"""

_THING_WORDS = """
Abacus Accordion Almanac Anvil Apiary Apron Aquarium Archipelago Armchair Artichoke Attic Aubergine
Avalanche Bagpipe Balcony Bandstand Banister Barnacle Barometer Bassoon Bathtub Beanstalk Bellows
Bicycle Binoculars Birdbath Blanket Blotter Bobbin Bonfire Bookcase Bouquet Bramble Broomstick
Bungalow Butterdish Cabbage Calendar Candlestick Canopy Caravan Carousel Cartographer Cauliflower
Cello Chandelier Chimney Clarinet Clavichord Coathanger Cobbler Colander Compass Conservatory
Corkscrew Cormorant Cradle Crankshaft Croissant Cupboard Curtain Cushion Dandelion Deckchair
Decanter Dishwasher Doorknob Doormat Dragonfly Drawbridge Dumpling Earmuff Easel Eggcup Escalator
Envelope Fiddlehead Figurehead Firefly Flagpole Flask Footstool Fountain Gardener Gatepost Gazebo
Geranium Gherkin Glockenspiel Gondola Gooseberry Gramophone Grasshopper Greenhouse Griddle Hammock
Handkerchief Harpsichord Haystack Hedgehog Heron Hinge Honeycomb Hourglass Houseboat Icicle Inkwell
Ironmonger Jackdaw Jamjar Jigsaw Kaleidoscope Kettle Keyhole Kingfisher Knapsack Ladle
Lampshade Lantern Lawnmower Lectern Letterbox Lighthouse Limpet Locksmith Loom Lozenge Magpie
Mandolin Mantelpiece Mattress Metronome Milkman Mitten Mongoose Mousetrap Mulberry Napkin
Narwhal Nightingale Notebook Nutcracker Oatcake Oboe Observatory Octopus Omelette Orchard Ottoman
Overcoat Paddock Pancake Parasol Parsnip Pavilion Peacock Pebble Pelican Pendulum Periscope Perch
Piccolo Pillowcase Pinecone Plumber Porcupine Porridge Postcard Postman Pretzel Pumpkin Quince
Quiver Radiator Radish Raincoat Rowboat Rucksack Sandcastle Sardine Saucepan Saxophone Scarecrow
Scarf Seagull Seesaw Semaphore Sextant Shovel Signpost Skylight Sledge Slipper Snowplough Spatula
Spectacles Spinach Squirrel Staircase Stapler Starling Suitcase Sundial Sunflower Tablecloth
Tambourine Teacup Teapot Teaspoon Telegram Telescope Thimble Thistle Toadstool Toaster Tortoise
Trampoline Trellis Trombone Trowel Tuba Tugboat Turnstile Typewriter Ukulele Umbrella Unicycle
Vacuum Vestibule Wagon Waistcoat Wallpaper Walrus Wardrobe Watchmaker Watermelon Weathercock
Wheelbarrow Whisk Windmill Windowsill Woodpecker Xylophone Yoghurt Zeppelin Zucchini
"""

_QUALITIES = _QUALITY_WORDS.split()
_THINGS = _THING_WORDS.split()


def made_up_titles(count: int, last_year: int, rng: np.random.Generator) -> list[str]:
    """`count` different titles such as "The Lopsided Gazebo (1987)", none newer than `last_year`.

    A pair of words is used once before any comes again in another form, and in all its forms
    before one comes again in another year.
    """
    pairs = len(_QUALITIES) * len(_THINGS)
    pair = np.resize(rng.permutation(pairs), count)
    again = np.arange(count) // pairs
    form = (rng.integers(len(_FORMS), size=pairs)[pair] + again) % len(_FORMS)
    age = (_YEARS * rng.random(pairs) ** 2).astype(np.int64)[pair]
    year = last_year - (age + again // len(_FORMS)) % _YEARS
    words = pl.DataFrame(
        {
            "before": _pick([before for before, _ in _FORMS], form),
            "quality": _pick(_QUALITIES, pair // len(_THINGS)),
            "thing": _pick(_THINGS, pair % len(_THINGS)),
            "after": _pick([after for _, after in _FORMS], form),
            "year": year,
        }
    )
    titles = words.select(pl.format("{}{} {}{} ({})", *words.columns)).to_series()
    return titles.to_list()


def _pick(texts: list[str], which: npt.NDArray[np.int64]) -> pl.Series:
    return pl.Series(texts).gather(which)
