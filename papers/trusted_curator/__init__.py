"""McSherry and Mironov, Differentially Private Recommender Systems (KDD 2009)."""
