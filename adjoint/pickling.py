"""pickling"""
