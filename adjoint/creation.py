"""creation"""
