"""A private scorer in lenskit's pipeline, measured by lenskit. Needs lenskit (and so PyTorch)."""

import numpy as np
import pandas as pd
from lenskit import batch
from lenskit.data import from_interactions_df
from lenskit.metrics import NDCG, RunAnalysis
from lenskit.pipeline import topn_pipeline
from lenskit.splitting import LastFrac, sample_users

import discreet
from discreet.adapters.lenskit import DiscreetConfig, DiscreetScorer

made = discreet.make_ratings("ml-100k", ratings=30_000, seed=1)
data = from_interactions_df(
    pd.DataFrame(
        {
            "user_id": made.user_of_rating() + 1,
            "item_id": made.items + 1,
            "rating": made.values(),
            "timestamp": np.arange(len(made)),
        }
    )
)
split = sample_users(data, 200, LastFrac(0.2, "timestamp"), rng=1)
# Made-up ratings need no ledger; for real ones give ledger="people.ledger" instead of a seed.
scorer = DiscreetScorer(DiscreetConfig(epsilon=8, scores="list", seed=1))
pipeline = topn_pipeline(scorer)
pipeline.train(split.train)
lists = batch.recommend(pipeline, split.test, n=10, n_jobs=1)
analysis = RunAnalysis()
analysis.add_metric(NDCG(10))
print(scorer.release_.guarantee)
print(analysis.measure(lists, split.test).list_summary())
