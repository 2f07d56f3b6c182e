"""Chow, Pathak and Wang, A Practical System for Privacy-Preserving Collaborative Filtering."""
